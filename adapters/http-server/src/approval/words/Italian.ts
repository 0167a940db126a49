import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Qui non ha più alcuna passkey e questo link non consente di crearne una. Non è stato approvato nulla. Torni al sito o all’app di provenienza e richieda un nuovo link."

export const ITALIAN: PageWords = {
  title: "Vuole approvare questa richiesta?",
  introduction: "Se qualcosa qui non è come si aspetta, rifiuti la richiesta.",
  test: "Ambiente di prova: qui non viene approvato nulla di reale.",
  timeLimit: "Tempo rimanente per decidere:",
  timeLimitReason:
    "Per la Sua sicurezza, questo link funziona solo per pochi minuti. Può richiederne uno nuovo.",
  details: "Che cosa approva esattamente",
  detailsReason: "La Sua passkey firma questo testo e nessun altro.",
  ahead: {
    register:
      "L’approvazione avviene con una passkey. Qui non ne ha ancora una, quindi il Suo dispositivo Le chiederà conferma due volte: prima per creare una passkey, poi per approvare con questa. Ogni volta userà l’impronta digitale, il volto o il blocco schermo.",
    approve:
      "L’approvazione avviene con la Sua passkey. Il Suo dispositivo Le chiederà l’impronta digitale, il volto o il blocco schermo. Prima di allora non viene approvato nulla.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Crea una passkey e approva",
    approve: "Approva con la passkey"
  },
  decline: "Rifiuta",
  lostPasskey: "Non ho più questa passkey",
  lostPasskeyText:
    "In questo caso non può approvare la richiesta adesso. Torni al sito o all’app di provenienza: lì può dimostrare la Sua identità in un altro modo e ottenere un link che Le consente di creare una nuova passkey.",
  goBack: "Torna indietro senza decidere",
  noButtons:
    "Se qui non vede alcun pulsante, questo browser è troppo vecchio per le passkey oppure non è riuscito a caricare completamente la pagina. Apra il link in un browser aggiornato. Non è stato approvato nulla.",
  noScript:
    "JavaScript è disattivato e senza JavaScript le passkey non funzionano. Lo attivi per questa pagina o apra il link in un altro browser. Non è stato approvato nulla.",
  closed: {
    unknown: {
      title: "Questo link è sconosciuto",
      text: "Forse è incompleto. Lo apra di nuovo dove l’ha ricevuto oppure ne richieda lì uno nuovo."
    },
    expired: {
      title: "Il tempo è scaduto",
      text: "Con questo link non è stato approvato nulla. Può richiederne uno nuovo nel sito o nell’app di provenienza."
    },
    replaced: {
      title: "Questo link è stato sostituito da uno più recente",
      text: "Con questo link non è stato approvato nulla. Usi quello più recente oppure ne richieda un altro nel sito o nell’app di provenienza."
    },
    withdrawn: {
      title: "Questa richiesta è stata ritirata",
      text: "La Sua approvazione non è più necessaria. Con questo link non è stato approvato nulla."
    },
    used: {
      title: "Questo link è già stato utilizzato",
      text: "Vale per una sola risposta. La decisione presa è indicata nel sito o nell’app di provenienza."
    },
    approved: {
      title: "Ha approvato questa richiesta",
      text: "La Sua approvazione è arrivata. Qui non resta altro da fare."
    },
    declined: {
      title: "Ha rifiutato questa richiesta",
      text: "Non è stato approvato nulla. Qui non resta altro da fare."
    }
  },
  home: {
    title: "Pagine di approvazione",
    text: "Qui si arriva tramite un link, per approvare o rifiutare una richiesta. Senza link qui non c’è nulla da vedere. Se Le è stato chiesto di approvare qualcosa, apra il link dove l’ha ricevuto."
  },
  unavailableTitle: "Al momento non disponibile",
  unavailableText: "Uno dei nostri sistemi non è raggiungibile. Ricarichi la pagina tra qualche istante.",
  busyText: "Sono arrivate troppe richieste dalla Sua rete. Ricarichi la pagina tra qualche istante.",
  script: {
    approveWithPasskey: "Approva con la passkey",
    working: "Un momento…",
    creatingPasskey:
      "Il browser Le chiede di creare una passkey. Con questo non viene ancora approvato nulla.",
    confirming: "Il browser Le chiede di confermare con la Sua passkey.",
    declining: "Rifiuto in corso…",
    approved: "Richiesta approvata. Ritorno in corso…",
    declined: "Richiesta rifiutata. Ritorno in corso…",
    dialogClosed: "La passkey non è stata usata, quindi non è stato approvato nulla. Può riprovare.",
    oneMoreStep: "La Sua passkey è pronta. Resta un passaggio: approvare con questa.",
    linesChanged:
      "Ciò che approva è cambiato mentre questa pagina era aperta. Lo legga di nuovo prima di approvare.",
    passkeyRefused:
      "Non è stato possibile verificare questa passkey, quindi non è stato approvato nulla. Riprovi.",
    passkeyUnsupported:
      "Questo dispositivo non può creare né usare una passkey con blocco schermo, impronta digitale o volto. Non è stato approvato nulla. Imposti un blocco schermo o apra il link su un altro dispositivo.",
    passkeyFailed: "Qui il browser non è riuscito a usare una passkey. Non è stato approvato nulla.",
    noPasskeys:
      "Questo browser non supporta le passkey, quindi qui non può approvare. Apra il link in un browser aggiornato. Può comunque rifiutare.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Ha iniziato a rispondere a questa richiesta in un altro browser. Continui lì, oppure torni al sito o all’app di provenienza e richieda un nuovo link.",
    tryAgain: "Non sappiamo se l’operazione sia riuscita. Verifichi la connessione e riprovi.",
    oneMinuteLeft: "Resta un minuto per decidere.",
    twentySecondsLeft: "Restano 20 secondi per decidere.",
    goBack: "Torna al sito o all’app di provenienza",
    endTitle: "Il tempo è scaduto",
    endText:
      "Il nostro servizio al momento non è raggiungibile, quindi non possiamo dire che cosa è stato deciso. La decisione è indicata nel sito o nell’app di provenienza."
  }
}
