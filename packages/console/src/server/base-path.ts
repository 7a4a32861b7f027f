/** Everything that the console serves is below this path, with both slashes: an API server serves it beside its own paths. */
export const basePath = '/console/';
