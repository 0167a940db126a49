import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Ya no tiene ninguna llave de acceso aquí y este enlace no le permite crear una. No se ha aprobado nada. Vuelva al sitio web o a la aplicación de donde venía y pida un nuevo enlace."

export const SPANISH: PageWords = {
  title: "¿Aprueba esta solicitud?",
  introduction: "Si algo de lo que ve aquí no es como espera, rechace la solicitud.",
  test: "Entorno de pruebas: aquí no se aprueba nada real.",
  timeLimit: "Tiempo restante para decidir:",
  timeLimitReason: "Por su seguridad, este enlace solo funciona durante unos minutos. Puede pedir uno nuevo.",
  details: "Qué aprueba exactamente",
  detailsReason: "Su llave de acceso firma este texto y ningún otro.",
  ahead: {
    register:
      "Usted aprueba con una llave de acceso. Aquí todavía no tiene ninguna, por lo que su dispositivo le preguntará dos veces: primero para crear una llave de acceso y después para aprobar con ella. Cada vez utilizará su huella digital, su rostro o su bloqueo de pantalla.",
    approve:
      "Usted aprueba con su llave de acceso. Su dispositivo le pedirá su huella digital, su rostro o su bloqueo de pantalla. Antes de eso no se aprueba nada.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Crear una llave de acceso y aprobar",
    approve: "Aprobar con su llave de acceso"
  },
  decline: "Rechazar",
  lostPasskey: "Ya no tengo esta llave de acceso",
  lostPasskeyText:
    "En ese caso, no puede aprobar esta solicitud ahora. Vuelva al sitio web o a la aplicación de donde venía: allí puede demostrar su identidad de otra manera y obtener un enlace que le permita crear una nueva llave de acceso.",
  goBack: "Volver sin decidir",
  noButtons:
    "Si no ve ningún botón aquí, este navegador es demasiado antiguo para las llaves de acceso o no ha podido cargar la página por completo. Abra el enlace en un navegador actual. No se ha aprobado nada.",
  noScript:
    "JavaScript está desactivado y las llaves de acceso no funcionan sin él. Actívelo para esta página o abra el enlace en otro navegador. No se ha aprobado nada.",
  closed: {
    unknown: {
      title: "Este enlace es desconocido",
      text: "Es posible que esté incompleto. Ábralo de nuevo donde lo recibió o pida allí uno nuevo."
    },
    expired: {
      title: "El tiempo se ha agotado",
      text: "No se ha aprobado nada con este enlace. Puede pedir uno nuevo en el sitio web o en la aplicación de donde venía."
    },
    replaced: {
      title: "Este enlace se ha sustituido por otro más reciente",
      text: "No se ha aprobado nada con este. Utilice el más reciente o pida otro en el sitio web o en la aplicación de donde venía."
    },
    withdrawn: {
      title: "Esta solicitud se ha retirado",
      text: "Su aprobación ya no es necesaria. No se ha aprobado nada con este enlace."
    },
    used: {
      title: "Este enlace ya se ha utilizado",
      text: "Sirve para una sola respuesta. Lo que se decidió se muestra en el sitio web o en la aplicación de donde venía."
    },
    approved: {
      title: "Usted ha aprobado esta solicitud",
      text: "Su aprobación ha llegado. Aquí ya no queda nada por hacer."
    },
    declined: {
      title: "Usted ha rechazado esta solicitud",
      text: "No se ha aprobado nada. Aquí ya no queda nada por hacer."
    }
  },
  home: {
    title: "Páginas de aprobación",
    text: "Aquí se llega con un enlace, para aprobar o rechazar una solicitud. Sin enlace no hay nada que ver aquí. Si le han pedido que apruebe algo, abra el enlace donde lo recibió."
  },
  unavailableTitle: "No disponible en este momento",
  unavailableText:
    "No podemos acceder a uno de nuestros sistemas. Vuelva a cargar la página en unos momentos.",
  busyText: "Han llegado demasiadas solicitudes desde su red. Vuelva a cargar la página en unos momentos.",
  script: {
    approveWithPasskey: "Aprobar con su llave de acceso",
    working: "Un momento…",
    creatingPasskey:
      "Su navegador le pide que cree una llave de acceso. Con ello todavía no se aprueba nada.",
    confirming: "Su navegador le pide que confirme con su llave de acceso.",
    declining: "Rechazando…",
    approved: "Solicitud aprobada. Volviendo…",
    declined: "Solicitud rechazada. Volviendo…",
    dialogClosed:
      "No se ha utilizado la llave de acceso, por lo que no se ha aprobado nada. Puede intentarlo de nuevo.",
    oneMoreStep: "Su llave de acceso está lista. Queda un paso: apruebe con ella.",
    linesChanged:
      "Lo que aprueba ha cambiado mientras esta página estaba abierta. Léalo de nuevo antes de aprobar.",
    passkeyRefused:
      "No se ha podido verificar esta llave de acceso, por lo que no se ha aprobado nada. Inténtelo de nuevo.",
    passkeyUnsupported:
      "Este dispositivo no puede crear ni utilizar una llave de acceso con bloqueo de pantalla, huella digital o rostro. No se ha aprobado nada. Configure un bloqueo de pantalla o abra el enlace en otro dispositivo.",
    passkeyFailed: "Su navegador no ha podido utilizar una llave de acceso aquí. No se ha aprobado nada.",
    noPasskeys:
      "Este navegador no admite llaves de acceso, por lo que no puede aprobar aquí. Abra el enlace en un navegador actual. Aún puede rechazar la solicitud.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Empezó a responder a esta solicitud en otro navegador. Continúe allí, o vuelva al sitio web o a la aplicación de donde venía y pida un nuevo enlace.",
    tryAgain: "No sabemos si ha funcionado. Compruebe su conexión e inténtelo de nuevo.",
    oneMinuteLeft: "Queda un minuto para decidir.",
    twentySecondsLeft: "Quedan 20 segundos para decidir.",
    goBack: "Volver al sitio o a la aplicación de origen",
    endTitle: "El tiempo se ha agotado",
    endText:
      "Nuestro servicio no está disponible en este momento, por lo que no podemos decir qué se decidió. Se muestra en el sitio web o en la aplicación de donde venía."
  }
}
