const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": ":443", "http:": ":80" }

/** A host in one form: in lower case, without a trailing dot, and without the default port of its protocol. */
const plainHost = (host: string, protocol: string): string => {
  const [, name = "", port = ""] = /^(.*?)(:\d*)?$/su.exec(host.toLowerCase()) ?? []
  const isDefault = port === ":" || port === DEFAULT_PORTS[protocol]
  return name.replace(/\.$/u, "") + (isDefault ? "" : port)
}

/** Whether a host, such as that of a request, is the one of a URL, however it is written. */
export const isHostOf = ({ host, protocol }: URL, given: string | undefined): boolean =>
  given !== undefined && plainHost(given, protocol) === plainHost(host, protocol)
