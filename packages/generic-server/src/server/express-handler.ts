import type { ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type express from 'express';
import type { Express, Request, Response, Router } from 'express';
import type { Exchange } from './exchange.ts';

/** An exchange over a socket, which can be handed over to express. */
export type SocketExchange = Exchange & Required<Pick<Exchange, 'handOver'>>;

/**
 * Answers an exchange by the routes of an express router; `url` replaces path and query. Resolves once the response is complete
 * or the client left. Rejects with the error of a route.
 */
export type ExpressHandler = (exchange: SocketExchange, url: string) => Promise<void>;

/**
 * Serves a router over both protocols: one application each, with the same routes. `onMissing` answers requests that no route
 * takes. The caller loads the library, so that it does not delay the start.
 */
export function expressHandler(
  library: typeof express,
  options: { readonly router: Router; readonly onMissing: (response: ServerResponse) => void },
): ExpressHandler {
  const { router, onMissing } = options;
  const http1 = applicationOf(library, router);
  const http2 = asHttp2(library, applicationOf(library, router));
  return async (exchange, url) => {
    const missing = Promise.withResolvers<'missing'>();
    const { request, response, finished } = exchange.handOver();
    request.url = url;
    const application = exchange.httpVersion === '2.0' ? http2 : http1;
    application(request as Request, response as Response, (error?: unknown) => {
      if (error === undefined) missing.resolve('missing');
      else missing.reject(error instanceof Error ? error : new Error('express failed', { cause: error }));
    });
    if ((await Promise.race([finished, missing.promise])) === 'missing') {
      onMissing(response);
      await finished;
    }
  };
}

function applicationOf(library: typeof express, router: Router): Express {
  const application = library();
  application.disable('x-powered-by');
  application.disable('etag');
  application.enable('strict routing');
  application.use(router);
  return application;
}

/**
 * Express sets the prototype of each request and response to objects that inherit from node:http's classes, whose methods do
 * not work on HTTP/2. This bases express' methods on the classes of the compatibility layer instead.
 */
function asHttp2(library: typeof express, application: Express): Express {
  application.request = rebase<Request>(library.request, Http2ServerRequest.prototype, application);
  application.response = rebase<Response>(library.response, Http2ServerResponse.prototype, application);
  return application;
}

function rebase<T extends object>(methods: T, prototype: object, application: Express): T {
  const own = Object.getOwnPropertyDescriptors(methods);
  return Object.create(prototype, {
    ...own,
    app: { configurable: true, enumerable: true, writable: true, value: application },
  }) as T;
}
