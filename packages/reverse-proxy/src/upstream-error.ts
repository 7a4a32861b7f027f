/**
 * What went wrong before an answer began.
 * - `unreachable`: no connection, or the upstream is known not to answer; nothing of the request was delivered.
 * - `unanswered`: the request may have been delivered, and no answer came.
 * - `overloaded`: this proxy has too many requests at that upstream; nothing was delivered.
 * - `loop`: the request went through too many proxies.
 * - `redirect`: the upstream sent the client elsewhere; following would hand credentials to whoever it named.
 * - `tls`: the upstream could not prove who it is, or did not believe the proxy.
 * - `malformed`: the upstream's answer, or the request, cannot be passed on.
 */
export type UpstreamFailure = 'unreachable' | 'unanswered' | 'overloaded' | 'loop' | 'redirect' | 'tls' | 'malformed';

const messages: Readonly<Record<UpstreamFailure, string>> = {
  unreachable: 'the server behind does not answer',
  unanswered: 'the server behind did not answer the request',
  overloaded: 'too many requests for the server behind',
  loop: 'the request went through too many proxies',
  redirect: 'the server behind attempted to redirect the request',
  tls: 'the server behind cannot be trusted',
  malformed: 'the request or its answer cannot be passed on',
};

/** Why a request was not answered. The answer has not begun, so the caller gives one. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure, options: { cause?: unknown } = {}) {
    super(messages[failure], options);
    this.failure = failure;
  }

  /** What HTTP says to it: 503 when another try is safe and may succeed, 504 when it is not known what happened. */
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
