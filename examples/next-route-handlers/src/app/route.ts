export const GET = () => new Response("The shop.\n")
