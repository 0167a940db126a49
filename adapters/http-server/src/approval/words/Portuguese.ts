import type { PageWords } from "./PageWords.ts"

const NO_PASSKEY_ALLOWED =
  "Já não há aqui nenhuma chave de acesso sua e este link não permite criar uma. Nada foi aprovado. Volte ao serviço de onde veio e peça um novo link."

/** Words that Portugal and Brazil share. They speak of the lock of the device, because the two have different words for a screen. */
export const PORTUGUESE: PageWords = {
  title: "Aprova este pedido?",
  introduction: "Se algo aqui não for o que espera, recuse.",
  test: "Ambiente de testes: nada de real é aprovado aqui.",
  timeLimit: "Tempo restante para decidir:",
  timeLimitReason:
    "Para sua segurança, este link funciona apenas durante alguns minutos. Pode pedir um novo.",
  details: "O que aprova exatamente",
  detailsReason: "A sua chave de acesso assina este texto e nenhum outro.",
  ahead: {
    register:
      "A aprovação é feita com uma chave de acesso. Ainda não tem nenhuma aqui, por isso o seu dispositivo pergunta duas vezes: primeiro para criar uma chave de acesso, depois para aprovar com ela. Em ambas as vezes, use a impressão digital, o rosto ou o bloqueio do dispositivo.",
    approve:
      "A aprovação é feita com a sua chave de acesso. O seu dispositivo pede a impressão digital, o rosto ou o bloqueio do dispositivo. Antes disso, nada é aprovado.",
    none: NO_PASSKEY_ALLOWED
  },
  approve: {
    register: "Criar uma chave de acesso e aprovar",
    approve: "Aprovar com a sua chave de acesso"
  },
  decline: "Recusar",
  lostPasskey: "Já não tenho esta chave de acesso",
  lostPasskeyText:
    "Nesse caso, não pode aprovar este pedido agora. Volte ao serviço de onde veio: lá pode comprovar a sua identidade de outra forma e obter um link que permite criar uma nova chave de acesso.",
  goBack: "Voltar sem decidir",
  noButtons:
    "Se não vê botões aqui, este navegador é demasiado antigo para chaves de acesso ou não conseguiu carregar a página por completo. Abra o link em um navegador atual. Nada foi aprovado.",
  noScript:
    "O JavaScript está desativado e as chaves de acesso não funcionam sem ele. Ative-o para esta página ou abra o link em outro navegador. Nada foi aprovado.",
  closed: {
    unknown: {
      title: "Este link é desconhecido",
      text: "Pode estar incompleto. Abra-o novamente onde o recebeu ou peça lá um novo."
    },
    expired: {
      title: "Tempo esgotado",
      text: "Nada foi aprovado com este link. Pode pedir um novo no serviço de onde veio."
    },
    replaced: {
      title: "Este link foi substituído por um mais recente",
      text: "Nada foi aprovado com este. Use o mais recente ou peça outro no serviço de onde veio."
    },
    withdrawn: {
      title: "Este pedido foi retirado",
      text: "A sua aprovação já não é necessária. Nada foi aprovado com este link."
    },
    used: {
      title: "Este link já foi utilizado",
      text: "Serve para uma única resposta. A decisão tomada é mostrada no serviço de onde veio."
    },
    approved: {
      title: "Pedido aprovado por si",
      text: "A sua aprovação foi recebida. Não há mais nada a fazer aqui."
    },
    declined: { title: "Pedido recusado por si", text: "Nada foi aprovado. Não há mais nada a fazer aqui." }
  },
  home: {
    title: "Páginas de aprovação",
    text: "Chega-se aqui por um link, para aprovar ou recusar um pedido. Sem um link, não há nada para ver aqui. Se pediram a sua aprovação, abra o link onde o recebeu."
  },
  unavailableTitle: "Indisponível no momento",
  unavailableText: "Um dos nossos sistemas está inacessível. Recarregue a página dentro de instantes.",
  busyText: "Chegaram demasiados pedidos da sua rede. Recarregue a página dentro de instantes.",
  script: {
    approveWithPasskey: "Aprovar com a sua chave de acesso",
    working: "Um momento…",
    creatingPasskey: "O seu navegador pede a criação de uma chave de acesso. Isso ainda não aprova nada.",
    confirming: "O seu navegador pede a confirmação com a sua chave de acesso.",
    declining: "Recusa em curso…",
    approved: "Pedido aprovado. Retorno em curso…",
    declined: "Pedido recusado. Retorno em curso…",
    dialogClosed: "A chave de acesso não foi usada, por isso nada foi aprovado. Pode tentar novamente.",
    oneMoreStep: "A sua chave de acesso está pronta. Falta um passo: aprovar com ela.",
    linesChanged: "O que aprova mudou enquanto esta página estava aberta. Leia novamente antes de aprovar.",
    passkeyRefused:
      "Não foi possível verificar esta chave de acesso, por isso nada foi aprovado. Tente novamente.",
    passkeyUnsupported:
      "Este dispositivo não consegue criar nem usar uma chave de acesso com bloqueio do dispositivo, impressão digital ou rosto. Nada foi aprovado. Configure um bloqueio do dispositivo ou abra o link em outro dispositivo.",
    passkeyFailed: "O seu navegador não conseguiu usar uma chave de acesso aqui. Nada foi aprovado.",
    noPasskeys:
      "Este navegador não é compatível com chaves de acesso, por isso não pode aprovar aqui. Abra o link em um navegador atual. Ainda pode recusar.",
    noPasskeyAllowed: NO_PASSKEY_ALLOWED,
    otherBrowser:
      "Começou a responder a este pedido em outro navegador. Continue nele, ou volte ao serviço de onde veio e peça um novo link.",
    tryAgain: "Não sabemos se funcionou. Verifique o acesso à internet e tente novamente.",
    oneMinuteLeft: "Resta um minuto para decidir.",
    twentySecondsLeft: "Restam 20 segundos para decidir.",
    goBack: "Voltar ao serviço de onde veio",
    endTitle: "Tempo esgotado",
    endText:
      "O nosso serviço está inacessível no momento, por isso não podemos dizer o que foi decidido. A decisão é mostrada no serviço de onde veio."
  }
}
