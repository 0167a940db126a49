/** The service runs from node_modules, as it is, rather than in a bundle of each route. */
export default { serverExternalPackages: ["svc"] }
