/** Imported before a program: its wall clock is wrong by `TEST_CLOCK_SHIFT_MILLISECONDS`. */
const shift = Number(process.env.TEST_CLOCK_SHIFT_MILLISECONDS ?? "0")

const HostDate = Date

globalThis.Date = new Proxy(HostDate, {
  construct: (_, given) =>
    given.length === 0
      ? new HostDate(HostDate.now() + shift)
      : new HostDate(...(given as [string | number | Date])),
  apply: () => new HostDate(HostDate.now() + shift).toString(),
  get: (target, name, receiver) =>
    name === "now" ? () => HostDate.now() + shift : Reflect.get(target, name, receiver)
})

Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + shift })
