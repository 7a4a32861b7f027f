import { isJsonObject, isStatusError, type JsonObject } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { OptionError, retry, type Clock } from '@multiplane/component-base';

/** A review sent to a webhook that the operator configured, and the object it answers with. */
export type SendReview = (review: JsonObject) => Promise<JsonObject>;

const timeoutMs = 30_000;
/** Pauses 0.5 s, 0.75 s, … as Kubernetes' webhooks make them. */
const retries = { attempts: 5, initial: 500, factor: 1.5, max: 5_000, jitter: 0.2 };

/**
 * The webhook behind the kubeconfig that a flag names. What may pass by itself, a connection that breaks or an answer
 * 429 or 5xx, is tried again. Throws OptionError for a file that cannot be used.
 */
export function operatorWebhook(
  options: { readonly flag: string; readonly file: string; readonly userAgent: string },
  modules: { readonly clock: Clock },
): { readonly send: SendReview; readonly close: () => void } {
  const { flag, file, userAgent } = options;
  let config;
  try {
    config = clientConfigOf(readKubeconfig(file), file);
  } catch (cause) {
    throw new OptionError(`--${flag}: ${file}: ${(cause as Error).message}`, { cause });
  }
  const { pathname, search } = new URL(config.server);
  const transport = new RestTransport({ config, userAgent, silenceMs: timeoutMs });
  const send: SendReview = (review) =>
    retry(
      async () => {
        const answer = await transport.json({
          method: 'POST',
          path: pathname + search,
          body: JSON.stringify(review),
        });
        if (!isJsonObject(answer)) throw new WrongAnswer('the webhook did not answer with an object');
        return answer;
      },
      { ...retries, retryable: mayPass },
      modules,
    );
  return { send, close: () => transport.close() };
}

class WrongAnswer extends Error {}

const mayPass = (error: unknown): boolean =>
  isStatusError(error) ? error.code === 429 || error.code >= 500 : !(error instanceof WrongAnswer);
