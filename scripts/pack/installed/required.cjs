// Requires every module named on the command line, and prints those that cannot be.
const failed = process.argv.slice(2).flatMap((name) => {
  try {
    return Object.keys(require(name)).length >= 0 ? [] : [name]
  } catch (error) {
    return [`${name}: ${error.message}`]
  }
})
console.log(JSON.stringify(failed))
