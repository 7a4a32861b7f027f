import type { AuthenticationResponse, Soon } from './authenticator.ts';

/**
 * Asks authenticators in their order until one knows the caller; what they throw is added to `failures`, and the next is
 * asked. Waits only for those who promise an answer. Never throws.
 */
export function askInTurn<A>(
  authenticators: readonly A[],
  ask: (authenticator: A) => Soon<AuthenticationResponse | undefined>,
  failures: unknown[],
  from = 0,
): Soon<AuthenticationResponse | undefined> {
  for (let i = from; i < authenticators.length; i++) {
    try {
      const answer = ask(authenticators[i] as A);
      if (answer instanceof Promise) return askFurther(answer, authenticators, ask, failures, i + 1);
      if (answer !== undefined) return answer;
    } catch (error) {
      failures.push(error);
    }
  }
  return undefined;
}

async function askFurther<A>(
  pending: Promise<AuthenticationResponse | undefined>,
  authenticators: readonly A[],
  ask: (authenticator: A) => Soon<AuthenticationResponse | undefined>,
  failures: unknown[],
  from: number,
): Promise<AuthenticationResponse | undefined> {
  try {
    const answer = await pending;
    if (answer !== undefined) return answer;
  } catch (error) {
    failures.push(error);
  }
  return askInTurn(authenticators, ask, failures, from);
}
