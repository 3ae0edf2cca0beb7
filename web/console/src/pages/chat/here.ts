/** The oracle of the console is the server that served it. */
export const here = { baseUrl: location.origin, wsUrl: location.origin };
