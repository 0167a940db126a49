import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Sie haben hier keinen Passkey mehr, und mit diesem Link können Sie keinen erstellen. Es wurde nichts freigegeben. Kehren Sie zu der Website oder App zurück, von der Sie gekommen sind, und fordern Sie einen neuen Link an."

export const GERMAN: PageWords = {
  title: "Möchten Sie das freigeben?",
  introduction: "Wenn hier etwas nicht so ist, wie Sie es erwarten, lehnen Sie ab.",
  test: "Testumgebung: Hier wird nichts Echtes freigegeben.",
  timeLimit: "Verbleibende Zeit für Ihre Entscheidung:",
  timeLimitReason:
    "Zu Ihrer Sicherheit funktioniert dieser Link nur wenige Minuten. Sie können einen neuen anfordern.",
  details: "Was genau Sie freigeben",
  detailsReason: "Ihr Passkey signiert diesen Text und keinen anderen.",
  ahead: {
    register:
      "Sie geben mit einem Passkey frei. Da Sie hier noch keinen haben, fragt Ihr Gerät Sie zweimal: zuerst, um einen Passkey zu erstellen, dann, um damit freizugeben. Jedes Mal verwenden Sie Ihren Fingerabdruck, Ihr Gesicht oder Ihre Bildschirmsperre.",
    approve:
      "Sie geben mit Ihrem Passkey frei. Ihr Gerät fragt nach Ihrem Fingerabdruck, Ihrem Gesicht oder Ihrer Bildschirmsperre. Vorher wird nichts freigegeben.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Passkey erstellen und damit freigeben",
    approve: "Mit Ihrem Passkey freigeben"
  },
  decline: "Ablehnen",
  lostPasskey: "Ich habe diesen Passkey nicht mehr",
  lostPasskeyText:
    "Dann können Sie das jetzt nicht freigeben. Kehren Sie zu der Website oder App zurück, von der Sie gekommen sind: Dort können Sie Ihre Identität auf andere Weise nachweisen und erhalten einen Link, mit dem Sie einen neuen Passkey erstellen können.",
  goBack: "Zurück, ohne zu entscheiden",
  noButtons:
    "Wenn Sie hier keine Schaltflächen sehen, ist dieser Browser zu alt für Passkeys oder konnte die Seite nicht vollständig laden. Öffnen Sie den Link in einem aktuellen Browser. Es wurde nichts freigegeben.",
  noScript:
    "JavaScript ist ausgeschaltet, und ohne JavaScript funktionieren Passkeys nicht. Schalten Sie es für diese Seite ein oder öffnen Sie den Link in einem anderen Browser. Es wurde nichts freigegeben.",
  closed: {
    unknown: {
      title: "Dieser Link ist nicht bekannt",
      text: "Möglicherweise ist er unvollständig. Öffnen Sie ihn noch einmal dort, wo Sie ihn erhalten haben, oder fordern Sie dort einen neuen an."
    },
    expired: {
      title: "Die Zeit ist abgelaufen",
      text: "Mit diesem Link wurde nichts freigegeben. Auf der Website oder in der App, von der Sie gekommen sind, können Sie einen neuen anfordern."
    },
    replaced: {
      title: "Dieser Link wurde durch einen neueren ersetzt",
      text: "Mit diesem Link wurde nichts freigegeben. Verwenden Sie den neueren, oder fordern Sie auf der Website oder in der App, von der Sie gekommen sind, noch einen an."
    },
    withdrawn: {
      title: "Diese Anfrage wurde zurückgezogen",
      text: "Ihre Freigabe wird nicht mehr benötigt. Mit diesem Link wurde nichts freigegeben."
    },
    used: {
      title: "Dieser Link wurde bereits verwendet",
      text: "Er gilt für eine einzige Antwort. Was entschieden wurde, sehen Sie auf der Website oder in der App, von der Sie gekommen sind."
    },
    approved: {
      title: "Sie haben das freigegeben",
      text: "Ihre Freigabe ist angekommen. Hier ist nichts weiter zu tun."
    },
    declined: {
      title: "Sie haben das abgelehnt",
      text: "Es wurde nichts freigegeben. Hier ist nichts weiter zu tun."
    }
  },
  home: {
    title: "Freigabeseiten",
    text: "Hierher kommen Sie über einen Link, um eine Anfrage freizugeben oder abzulehnen. Ohne Link gibt es hier nichts zu sehen. Wenn Sie um eine Freigabe gebeten wurden, öffnen Sie den Link dort, wo Sie ihn erhalten haben."
  },
  unavailableTitle: "Zurzeit nicht verfügbar",
  unavailableText:
    "Auf unserer Seite ist etwas nicht erreichbar. Laden Sie die Seite in einem Moment noch einmal.",
  busyText: "Aus Ihrem Netzwerk kamen zu viele Anfragen. Laden Sie die Seite in einem Moment noch einmal.",
  script: {
    approveWithPasskey: "Mit Ihrem Passkey freigeben",
    working: "Einen Moment\u00a0…",
    creatingPasskey:
      "Ihr Browser fordert Sie auf, einen Passkey zu erstellen. Damit wird noch nichts freigegeben.",
    confirming: "Ihr Browser fordert Sie auf, mit Ihrem Passkey zu bestätigen.",
    declining: "Wird abgelehnt\u00a0…",
    approved: "Freigegeben. Sie werden zurückgeleitet\u00a0…",
    declined: "Abgelehnt. Sie werden zurückgeleitet\u00a0…",
    dialogClosed:
      "Der Passkey wurde nicht verwendet, daher wurde nichts freigegeben. Sie können es noch einmal versuchen.",
    oneMoreStep: "Ihr Passkey ist bereit. Es fehlt noch ein Schritt: Geben Sie damit frei.",
    linesChanged:
      "Was Sie freigeben, hat sich geändert, während diese Seite geöffnet war. Lesen Sie es noch einmal, bevor Sie freigeben.",
    passkeyRefused:
      "Dieser Passkey konnte nicht überprüft werden, daher wurde nichts freigegeben. Versuchen Sie es noch einmal.",
    passkeyUnsupported:
      "Dieses Gerät kann keinen Passkey mit Bildschirmsperre, Fingerabdruck oder Gesicht erstellen oder verwenden. Es wurde nichts freigegeben. Richten Sie eine Bildschirmsperre ein oder öffnen Sie den Link auf einem anderen Gerät.",
    passkeyFailed: "Ihr Browser konnte hier keinen Passkey verwenden. Es wurde nichts freigegeben.",
    noPasskeys:
      "Dieser Browser unterstützt keine Passkeys, daher können Sie hier nicht freigeben. Öffnen Sie den Link in einem aktuellen Browser. Ablehnen können Sie weiterhin.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Sie haben in einem anderen Browser begonnen, diese Anfrage zu beantworten. Machen Sie dort weiter oder kehren Sie zu der Website oder App zurück, von der Sie gekommen sind, und fordern Sie einen neuen Link an.",
    tryAgain:
      "Wir wissen nicht, ob das funktioniert hat. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.",
    oneMinuteLeft: "Sie haben noch eine Minute für Ihre Entscheidung.",
    twentySecondsLeft: "Sie haben noch 20 Sekunden für Ihre Entscheidung.",
    goBack: "Zurück zur Website oder App, von der Sie kommen",
    endTitle: "Die Zeit ist abgelaufen",
    endText:
      "Unser Dienst ist gerade nicht erreichbar, daher können wir nicht sagen, was entschieden wurde. Sie sehen es auf der Website oder in der App, von der Sie gekommen sind."
  }
}
