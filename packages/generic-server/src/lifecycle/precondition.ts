import type { MaybePromise } from '../authentication/authenticator.ts';

/** What a long-running request was admitted for. It is evaluated again while the request runs. */
export interface Precondition {
  /** `credential`: that the caller still is who it was; `permission`: that the caller still may do what it does. */
  readonly kind: 'credential' | 'permission';
  /** Equal keys have equal results and are evaluated once per round; undefined: evaluated for this request alone. */
  readonly key?: string | undefined;
  /** False ends the request. A result that cannot be known now is true: an outage must not end what was admitted. */
  readonly holds: () => MaybePromise<boolean>;
}
