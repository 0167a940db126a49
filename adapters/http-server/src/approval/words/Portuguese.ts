import type { PageWords } from "./PageWords.ts"

const CLOSED = {
  closedTitle: "Este link deixou de ser válido",
  closedText:
    "Já foi utilizado, foi substituído por um mais recente ou expirou. Com ele não é possível aprovar mais nada. Volte ao serviço de onde veio: a sua decisão é mostrada lá e pode pedir um novo link."
}

const NO_PASSKEY_ALLOWED =
  "Já não há aqui nenhuma chave de acesso sua e este link não permite criar uma. Nada foi aprovado. Volte ao serviço de onde veio e peça um novo link."

/** Words that Portugal and Brazil share: the lock is the device's, since each has a word of its own for a screen. */
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
  ...CLOSED,
  unavailableTitle: "Indisponível no momento",
  unavailableText: "Um dos nossos sistemas está inacessível. Recarregue a página dentro de instantes.",
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
    goBack: "Voltar ao serviço de onde veio",
    ...CLOSED,
    expiredTitle: "Tempo esgotado"
  }
}
