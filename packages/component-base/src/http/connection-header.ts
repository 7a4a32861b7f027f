/**
 * Names the connection through which a client sent a request, for servers behind the one that accepted it. A server sets the
 * header of each request when it authenticates that, and keeps a value only if a trusted proxy sent it.
 */
export const connectionHeader = 'x-multiplane-connection';
