// The page is whole without this: it adds copy buttons, a filter, and the mark of where one is.
const copyButton = (block) => {
  const button = document.createElement("button")
  button.type = "button"
  button.textContent = "Copy"
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent)
      button.textContent = "Copied"
    } catch {
      button.textContent = "Select and copy by hand"
    }
    setTimeout(() => {
      button.textContent = "Copy"
    }, 2000)
  })
  block.append(button)
}
for (const block of document.querySelectorAll(".code")) copyButton(block)

const contents = document.getElementById("contents")
const narrow = matchMedia("(max-width: 60rem)")
const fold = () => {
  contents.open = !narrow.matches
}
narrow.addEventListener("change", fold)
fold()
contents.addEventListener("click", (event) => {
  if (narrow.matches && event.target.closest("a") !== null) contents.open = false
})

const filter = contents.querySelector(".filter")
filter.hidden = false
const entries = [...contents.querySelectorAll("li")]
filter.addEventListener("input", () => {
  const wanted = filter.querySelector("input").value.trim().toLowerCase()
  for (const entry of entries) entry.hidden = !entry.textContent.toLowerCase().includes(wanted)
  for (const list of contents.querySelectorAll("ul")) {
    const isEmpty = [...list.children].every((entry) => entry.hidden)
    list.hidden = isEmpty
    list.previousElementSibling.hidden = isEmpty
  }
})

const openTo = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  for (let at = target?.closest("details"); at; at = at.parentElement?.closest("details")) {
    if (at !== contents) at.open = true
  }
  target?.scrollIntoView()
}
addEventListener("hashchange", openTo)
if (location.hash !== "") openTo()

const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]))
const targets = [...links.keys()].map((id) => document.getElementById(id)).filter((target) => target !== null)
const markCurrent = () => {
  const here = targets.findLast((target) => target.getBoundingClientRect().top < innerHeight / 4)
  const link = here === undefined ? undefined : links.get(here.id)
  if (link === undefined || link.hasAttribute("aria-current")) return
  contents.querySelector("[aria-current]")?.removeAttribute("aria-current")
  link.setAttribute("aria-current", "true")
  if (!narrow.matches) link.scrollIntoView({ block: "nearest" })
}
const observer = new IntersectionObserver(markCurrent, { rootMargin: "0% 0% -75% 0%" })
for (const target of targets) observer.observe(target)
