import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Nie masz tu już klucza dostępu, a ten link nie pozwala go utworzyć. Nic nie zostało zatwierdzone. Wróć do strony lub aplikacji, z której otwarto ten link, i poproś o nowy link."

export const POLISH: PageWords = {
  title: "Czy to zatwierdzasz?",
  introduction: "Jeśli cokolwiek jest tu inne, niż oczekujesz, wybierz „Odrzuć”.",
  test: "Środowisko testowe: nic nie jest tu zatwierdzane naprawdę.",
  timeLimit: "Pozostały czas na decyzję:",
  timeLimitReason:
    "Dla Twojego bezpieczeństwa ten link działa tylko przez kilka minut. Możesz poprosić o nowy.",
  details: "Co dokładnie zatwierdzasz",
  detailsReason: "Twój klucz dostępu podpisuje te słowa i żadne inne.",
  ahead: {
    register:
      "Zatwierdzasz to kluczem dostępu. Nie masz tu jeszcze żadnego, dlatego urządzenie poprosi Cię o potwierdzenie dwa razy: najpierw, aby utworzyć klucz dostępu, a potem, aby za jego pomocą to zatwierdzić. Za każdym razem używasz odcisku palca, twarzy lub blokady ekranu.",
    approve:
      "Zatwierdzasz to swoim kluczem dostępu. Urządzenie poprosi o odcisk palca, twarz lub blokadę ekranu. Przedtem nic nie zostanie zatwierdzone.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Utwórz klucz dostępu i zatwierdź",
    approve: "Zatwierdź kluczem dostępu"
  },
  decline: "Odrzuć",
  lostPasskey: "Nie mam już tego klucza dostępu",
  lostPasskeyText:
    "W takim razie nie możesz teraz tego zatwierdzić. Wróć do strony lub aplikacji, z której otwarto ten link: możesz tam w inny sposób potwierdzić swoją tożsamość i otrzymać link, który pozwoli Ci utworzyć nowy klucz dostępu.",
  goBack: "Wróć bez podejmowania decyzji",
  noButtons:
    "Jeśli nie widzisz tu przycisków, ta przeglądarka jest zbyt stara, aby obsługiwać klucze dostępu, albo nie udało się jej wczytać całej strony. Otwórz link w aktualnej przeglądarce. Nic nie zostało zatwierdzone.",
  noScript:
    "Obsługa JavaScriptu jest wyłączona, a bez niej klucze dostępu nie działają. Włącz ją dla tej strony albo otwórz link w innej przeglądarce. Nic nie zostało zatwierdzone.",
  closed: {
    unknown: {
      title: "Ten link jest nieznany",
      text: "Być może jest niepełny. Otwórz go ponownie tam, gdzie go otrzymano, albo poproś tam o nowy."
    },
    expired: {
      title: "Czas upłynął",
      text: "Tym linkiem nic nie zostało zatwierdzone. O nowy możesz poprosić na stronie lub w aplikacji, z której otwarto ten link."
    },
    replaced: {
      title: "Ten link zastąpiono nowszym",
      text: "Tym linkiem nic nie zostało zatwierdzone. Użyj nowszego albo poproś o kolejny na stronie lub w aplikacji, z której otwarto ten link."
    },
    withdrawn: {
      title: "Ta prośba została wycofana",
      text: "Twoje zatwierdzenie nie jest już potrzebne. Tym linkiem nic nie zostało zatwierdzone."
    },
    used: {
      title: "Ten link został już wykorzystany",
      text: "Służy on do jednej odpowiedzi. Podjętą decyzję znajdziesz na stronie lub w aplikacji, z której otwarto ten link."
    },
    approved: {
      title: "To zostało przez Ciebie zatwierdzone",
      text: "Twoje zatwierdzenie dotarło. Nie musisz tu robić nic więcej."
    },
    declined: {
      title: "To zostało przez Ciebie odrzucone",
      text: "Nic nie zostało zatwierdzone. Nie musisz tu robić nic więcej."
    }
  },
  home: {
    title: "Strony zatwierdzania",
    text: "Trafia się tu przez link, aby zatwierdzić lub odrzucić prośbę. Bez linku nie ma tu nic do zobaczenia. Jeśli poproszono Cię o zatwierdzenie, otwórz otrzymany link."
  },
  unavailableTitle: "Chwilowo niedostępne",
  unavailableText: "Coś po naszej stronie jest nieosiągalne. Za chwilę wczytaj stronę ponownie.",
  busyText: "Z tej sieci nadeszło zbyt wiele żądań. Za chwilę wczytaj stronę ponownie.",
  script: {
    approveWithPasskey: "Zatwierdź kluczem dostępu",
    working: "Chwileczkę…",
    creatingPasskey: "Przeglądarka prosi o utworzenie klucza dostępu. To jeszcze niczego nie zatwierdza.",
    confirming: "Przeglądarka prosi o potwierdzenie Twoim kluczem dostępu.",
    declining: "Odrzucanie…",
    approved: "Zatwierdzono. Trwa powrót…",
    declined: "Odrzucono. Trwa powrót…",
    dialogClosed:
      "Klucz dostępu nie został użyty, więc nic nie zostało zatwierdzone. Możesz spróbować ponownie.",
    oneMoreStep: "Twój klucz dostępu jest gotowy. Został jeden krok: użyj go, aby zatwierdzić.",
    linesChanged:
      "To, co zatwierdzasz, zmieniło się, gdy ta strona była otwarta. Przeczytaj to jeszcze raz, zanim zatwierdzisz.",
    passkeyRefused:
      "Nie udało się zweryfikować tego klucza dostępu, więc nic nie zostało zatwierdzone. Spróbuj ponownie.",
    passkeyUnsupported:
      "To urządzenie nie może utworzyć ani użyć klucza dostępu z blokadą ekranu, odciskiem palca lub twarzą. Nic nie zostało zatwierdzone. Ustaw blokadę ekranu albo otwórz link na innym urządzeniu.",
    passkeyFailed: "Przeglądarce nie udało się tu użyć klucza dostępu. Nic nie zostało zatwierdzone.",
    noPasskeys:
      "Ta przeglądarka nie obsługuje kluczy dostępu, więc nie możesz tu niczego zatwierdzić. Otwórz link w aktualnej przeglądarce. Nadal możesz odrzucić.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Odpowiedź rozpoczęto w innej przeglądarce. Kontynuuj tam albo wróć do strony lub aplikacji, z której otwarto ten link, i poproś o nowy.",
    tryAgain: "Nie wiemy, czy to się udało. Sprawdź połączenie i spróbuj ponownie.",
    oneMinuteLeft: "Została jedna minuta na decyzję.",
    twentySecondsLeft: "Zostało 20 sekund na decyzję.",
    goBack: "Wróć do strony lub aplikacji, z której otwarto ten link",
    endTitle: "Czas upłynął",
    endText:
      "Nasza usługa jest teraz nieosiągalna, więc nie możemy powiedzieć, jaką podjęto decyzję. Znajdziesz ją na stronie lub w aplikacji, z której otwarto ten link."
  }
}
