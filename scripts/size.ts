/** Prints what a page that loads the verifier loads: one file, minified and compressed, in bytes. */
import { verifierGzipBytes } from "./VerifierBundle.ts"

console.log(`verifier gzip=${verifierGzipBytes()}`)
