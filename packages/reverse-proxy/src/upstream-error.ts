/**
 * Why there is no response.
 *
 * - `unreachable`: no connection, or the upstream is known to be down; the upstream received nothing of the request.
 * - `unanswered`: the upstream may have received the request, and no response came.
 * - `overloaded`: too many requests to this upstream are in flight; nothing was sent.
 * - `loop`: the request passed too many proxies.
 * - `redirect`: the upstream redirected to another host; following would send credentials there.
 * - `tls`: TLS verification failed on either side.
 * - `malformed`: the request or the upstream's response cannot be forwarded.
 */
export type UpstreamFailure = 'unreachable' | 'unanswered' | 'overloaded' | 'loop' | 'redirect' | 'tls' | 'malformed';

const messages: Readonly<Record<UpstreamFailure, string>> = {
  unreachable: 'the upstream server is unreachable',
  unanswered: 'the upstream server did not respond to the request',
  overloaded: 'too many requests to the upstream server',
  loop: 'the request passed too many proxies',
  redirect: 'the upstream server attempted to redirect the request',
  tls: 'TLS verification of the upstream server failed',
  malformed: 'the request or its response cannot be forwarded',
};

/** A request failed before its response started, so the caller writes the response. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure, options: { cause?: unknown } = {}) {
    super(messages[failure], options);
    this.failure = failure;
  }

  /** The HTTP status: 503 when the request was not delivered and can be retried, 504 when its outcome is unknown. */
  get status(): 502 | 503 | 504 | 508 {
    switch (this.failure) {
      case 'unreachable':
      case 'overloaded':
        return 503;
      case 'unanswered':
        return 504;
      case 'loop':
        return 508;
      default:
        return 502;
    }
  }
}
