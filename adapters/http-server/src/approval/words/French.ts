import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Vous n’avez plus de clé d’accès ici et ce lien ne vous permet pas d’en créer une. Rien n’a été approuvé. Retournez sur le site ou dans l’application d’où vous venez et demandez un nouveau lien."

export const FRENCH: PageWords = {
  title: "Approuvez-vous cette demande\u202f?",
  introduction: "Si quelque chose ici ne correspond pas à ce que vous attendez, refusez.",
  test: "Environnement de test\u00a0: rien de réel n’est approuvé ici.",
  timeLimit: "Temps restant pour décider\u00a0:",
  timeLimitReason:
    "Pour votre sécurité, ce lien ne fonctionne que quelques minutes. Vous pouvez en demander un nouveau.",
  details: "Ce que vous approuvez exactement",
  detailsReason: "Votre clé d’accès signe ce texte et aucun autre.",
  ahead: {
    register:
      "Vous approuvez avec une clé d’accès. Vous n’en avez pas encore ici\u00a0: votre appareil vous sollicite donc deux fois, d’abord pour créer une clé d’accès, puis pour approuver avec celle-ci. Chaque fois, vous utilisez votre empreinte digitale, votre visage ou le verrouillage de l’écran.",
    approve:
      "Vous approuvez avec votre clé d’accès. Votre appareil vous demande votre empreinte digitale, votre visage ou le verrouillage de l’écran. Rien n’est approuvé avant cela.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Créer une clé d’accès et approuver",
    approve: "Approuver avec votre clé d’accès"
  },
  decline: "Refuser",
  lostPasskey: "Je n’ai plus cette clé d’accès",
  lostPasskeyText:
    "Dans ce cas, vous ne pouvez pas approuver cette demande maintenant. Retournez sur le site ou dans l’application d’où vous venez\u00a0: vous pourrez y prouver votre identité d’une autre manière et obtenir un lien qui vous permettra de créer une nouvelle clé d’accès.",
  goBack: "Revenir sans décider",
  noButtons:
    "Si aucun bouton ne s’affiche ici, ce navigateur est trop ancien pour les clés d’accès ou n’a pas pu charger toute la page. Ouvrez le lien dans un navigateur récent. Rien n’a été approuvé.",
  noScript:
    "JavaScript est désactivé et les clés d’accès ne fonctionnent pas sans lui. Activez-le pour cette page ou ouvrez le lien dans un autre navigateur. Rien n’a été approuvé.",
  closed: {
    unknown: {
      title: "Ce lien est inconnu",
      text: "Il est peut-être incomplet. Ouvrez-le à nouveau là où vous l’avez reçu ou demandez-y un nouveau lien."
    },
    expired: {
      title: "Le temps est écoulé",
      text: "Rien n’a été approuvé avec ce lien. Vous pouvez en demander un nouveau sur le site ou dans l’application d’où vous venez."
    },
    replaced: {
      title: "Ce lien a été remplacé par un lien plus récent",
      text: "Rien n’a été approuvé avec celui-ci. Utilisez le plus récent ou demandez-en un autre sur le site ou dans l’application d’où vous venez."
    },
    withdrawn: {
      title: "Cette demande a été retirée",
      text: "Votre approbation n’est plus nécessaire. Rien n’a été approuvé avec ce lien."
    },
    used: {
      title: "Ce lien a déjà été utilisé",
      text: "Il ne vaut que pour une seule réponse. La décision prise est indiquée sur le site ou dans l’application d’où vous venez."
    },
    approved: {
      title: "Vous avez approuvé cette demande",
      text: "Votre approbation est bien arrivée. Il n’y a plus rien à faire ici."
    },
    declined: {
      title: "Vous avez refusé cette demande",
      text: "Rien n’a été approuvé. Il n’y a plus rien à faire ici."
    }
  },
  home: {
    title: "Pages d’approbation",
    text: "On arrive ici par un lien, pour approuver ou refuser une demande. Sans lien, il n’y a rien à voir ici. Si l’on vous a demandé d’approuver quelque chose, ouvrez le lien là où vous l’avez reçu."
  },
  unavailableTitle: "Indisponible pour le moment",
  unavailableText: "L’un de nos systèmes est injoignable. Rechargez la page dans un instant.",
  busyText: "Trop de requêtes sont venues de votre réseau. Rechargez la page dans un instant.",
  script: {
    approveWithPasskey: "Approuver avec votre clé d’accès",
    working: "Un instant…",
    creatingPasskey: "Votre navigateur vous demande de créer une clé d’accès. Cela n’approuve encore rien.",
    confirming: "Votre navigateur vous demande de confirmer avec votre clé d’accès.",
    declining: "Refus en cours…",
    approved: "Demande approuvée. Retour en cours…",
    declined: "Demande refusée. Retour en cours…",
    dialogClosed: "La clé d’accès n’a pas été utilisée\u00a0: rien n’a été approuvé. Vous pouvez réessayer.",
    oneMoreStep: "Votre clé d’accès est prête. Il reste une étape\u00a0: approuver avec celle-ci.",
    linesChanged:
      "Ce que vous approuvez a changé pendant que cette page était ouverte. Relisez-le avant d’approuver.",
    passkeyRefused: "Cette clé d’accès n’a pas pu être vérifiée\u00a0: rien n’a été approuvé. Réessayez.",
    passkeyUnsupported:
      "Cet appareil ne peut ni créer ni utiliser une clé d’accès avec un verrouillage de l’écran, une empreinte digitale ou un visage. Rien n’a été approuvé. Configurez un verrouillage de l’écran ou ouvrez le lien sur un autre appareil.",
    passkeyFailed: "Votre navigateur n’a pas pu utiliser de clé d’accès ici. Rien n’a été approuvé.",
    noPasskeys:
      "Ce navigateur ne prend pas en charge les clés d’accès\u00a0: vous ne pouvez donc pas approuver ici. Ouvrez le lien dans un navigateur récent. Vous pouvez toujours refuser.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Vous avez commencé à répondre à cette demande dans un autre navigateur. Continuez dans cet autre navigateur, ou retournez sur le site ou dans l’application d’où vous venez et demandez un nouveau lien.",
    tryAgain: "Nous ne savons pas si cela a fonctionné. Vérifiez votre connexion et réessayez.",
    oneMinuteLeft: "Il vous reste une minute pour décider.",
    twentySecondsLeft: "Il vous reste 20\u00a0secondes pour décider.",
    goBack: "Revenir au site ou à l’application d’origine",
    endTitle: "Le temps est écoulé",
    endText:
      "Notre service est injoignable pour le moment\u00a0: nous ne pouvons pas dire ce qui a été décidé. La décision est indiquée sur le site ou dans l’application d’où vous venez."
  }
}
