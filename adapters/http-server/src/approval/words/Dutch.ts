import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "U hebt hier geen toegangssleutel meer en met deze link kunt u er geen maken. Er is niets goedgekeurd. Ga terug naar waar u vandaan kwam en vraag een nieuwe link aan."

export const DUTCH: PageWords = {
  title: "Keurt u dit goed?",
  introduction: "Is hier iets anders dan u verwacht? Weiger dan.",
  test: "Testomgeving: hier wordt niets echts goedgekeurd.",
  timeLimit: "Resterende tijd om te beslissen:",
  timeLimitReason: "Voor uw veiligheid werkt deze link maar een paar minuten. U kunt een nieuwe aanvragen.",
  details: "Wat u precies goedkeurt",
  detailsReason: "Uw toegangssleutel ondertekent deze woorden en geen andere.",
  ahead: {
    register:
      "U keurt dit goed met een toegangssleutel. U hebt er hier nog geen. Daarom vraagt uw apparaat u twee keer om bevestiging: eerst om een toegangssleutel te maken en daarna om dit ermee goed te keuren. U gebruikt beide keren uw vingerafdruk, uw gezicht of uw schermvergrendeling.",
    approve:
      "U keurt dit goed met uw toegangssleutel. Uw apparaat vraagt om uw vingerafdruk, uw gezicht of uw schermvergrendeling. Daarvóór wordt er niets goedgekeurd.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Toegangssleutel maken en goedkeuren",
    approve: "Goedkeuren met uw toegangssleutel"
  },
  decline: "Weigeren",
  lostPasskey: "Ik heb deze toegangssleutel niet meer",
  lostPasskeyText:
    "Dan kunt u dit nu niet goedkeuren. Ga terug naar waar u vandaan kwam: daar kunt u op een andere manier aantonen wie u bent en krijgt u een link waarmee u een nieuwe toegangssleutel kunt maken.",
  goBack: "Terug zonder te beslissen",
  noButtons:
    "Ziet u hier geen knoppen? Dan is deze browser te oud voor toegangssleutels of kon de pagina niet volledig worden geladen. Open de link in een actuele browser. Er is niets goedgekeurd.",
  noScript:
    "JavaScript is uitgeschakeld en zonder JavaScript werken toegangssleutels niet. Schakel het in voor deze pagina of open de link in een andere browser. Er is niets goedgekeurd.",
  closed: {
    unknown: {
      title: "Deze link is niet bekend",
      text: "Misschien is de link niet volledig. Open hem opnieuw waar u hem hebt gekregen of vraag daar een nieuwe aan."
    },
    expired: {
      title: "De tijd is om",
      text: "Met deze link is niets goedgekeurd. U kunt een nieuwe aanvragen waar u vandaan kwam."
    },
    replaced: {
      title: "Deze link is vervangen door een nieuwere",
      text: "Met deze link is niets goedgekeurd. Gebruik de nieuwere of vraag een andere aan waar u vandaan kwam."
    },
    withdrawn: {
      title: "Dit verzoek is ingetrokken",
      text: "Uw goedkeuring is niet meer nodig. Met deze link is niets goedgekeurd."
    },
    used: {
      title: "Deze link is al gebruikt",
      text: "De link is goed voor één antwoord. Wat er is besloten, ziet u waar u vandaan kwam."
    },
    approved: {
      title: "U hebt dit goedgekeurd",
      text: "Uw goedkeuring is ontvangen. U hoeft hier niets meer te doen."
    },
    declined: {
      title: "U hebt dit geweigerd",
      text: "Er is niets goedgekeurd. U hoeft hier niets meer te doen."
    }
  },
  home: {
    title: "Goedkeuringspagina’s",
    text: "U komt hier via een link om een verzoek goed te keuren of te weigeren. Zonder link is hier niets te zien. Is u om goedkeuring gevraagd? Open dan de link waar u hem hebt gekregen."
  },
  unavailableTitle: "Nu niet beschikbaar",
  unavailableText: "Iets aan onze kant is niet bereikbaar. Laad de pagina zo meteen opnieuw.",
  busyText: "Er kwamen te veel verzoeken van uw netwerk. Laad de pagina zo meteen opnieuw.",
  script: {
    approveWithPasskey: "Goedkeuren met uw toegangssleutel",
    working: "Een ogenblik…",
    creatingPasskey: "Uw browser vraagt u een toegangssleutel te maken. Daarmee is nog niets goedgekeurd.",
    confirming: "Uw browser vraagt u te bevestigen met uw toegangssleutel.",
    declining: "Bezig met weigeren…",
    approved: "Goedgekeurd. U gaat nu terug…",
    declined: "Geweigerd. U gaat nu terug…",
    dialogClosed:
      "De toegangssleutel is niet gebruikt. Er is dus niets goedgekeurd. U kunt het opnieuw proberen.",
    oneMoreStep: "Uw toegangssleutel is klaar. Nog één stap: keur dit ermee goed.",
    linesChanged:
      "Wat u goedkeurt, is gewijzigd terwijl deze pagina openstond. Lees het opnieuw voordat u het goedkeurt.",
    passkeyRefused:
      "Deze toegangssleutel kon niet worden gecontroleerd. Er is dus niets goedgekeurd. Probeer het opnieuw.",
    passkeyUnsupported:
      "Dit apparaat kan geen toegangssleutel met schermvergrendeling, vingerafdruk of gezicht maken of gebruiken. Er is niets goedgekeurd. Stel een schermvergrendeling in of open de link op een ander apparaat.",
    passkeyFailed: "Uw browser kon hier geen toegangssleutel gebruiken. Er is niets goedgekeurd.",
    noPasskeys:
      "Deze browser ondersteunt geen toegangssleutels. U kunt hier dus niet goedkeuren. Open de link in een actuele browser. Weigeren kan nog wel.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "U bent in een andere browser begonnen met antwoorden. Ga daar verder, of ga terug naar waar u vandaan kwam en vraag een nieuwe link aan.",
    tryAgain: "We weten niet of dat is gelukt. Controleer uw verbinding en probeer het opnieuw.",
    oneMinuteLeft: "U hebt nog één minuut om te beslissen.",
    twentySecondsLeft: "U hebt nog 20 seconden om te beslissen.",
    goBack: "Terug naar waar u vandaan kwam",
    endTitle: "De tijd is om",
    endText:
      "Onze dienst is nu niet bereikbaar. Daarom kunnen we niet zeggen wat er is besloten. U ziet het waar u vandaan kwam."
  }
}
