import { isJsonObject, isStatusError, type JsonObject } from '@multiplane/apimachinery';
import { readClientConfig, RestTransport } from '@multiplane/client';
import { retry, withOption, type Clock } from '@multiplane/component-base';

/** Sends a review to a webhook that the operator configured and returns the object of its response. */
export type SendReview = (review: JsonObject) => Promise<JsonObject>;

const timeoutMs = 30_000;
/** The retry parameters of kube-apiserver's webhook clients. */
const retries = { attempts: 5, initial: 500, factor: 1.5, max: 5_000, jitter: 0.2 };

/**
 * A client of the webhook in the kubeconfig that a flag names. Retries network errors, 429 and 5xx. Throws OptionError for an
 * invalid kubeconfig.
 */
export function operatorWebhook(
  options: { readonly flag: string; readonly file: string; readonly userAgent: string },
  modules: { readonly clock: Clock },
): { readonly send: SendReview; readonly close: () => void } {
  const { flag, file, userAgent } = options;
  const config = withOption(flag, () => readClientConfig({ file }));
  const { pathname, search } = new URL(config.server);
  const transport = new RestTransport({ config, userAgent, idleTimeoutMs: timeoutMs });
  const send: SendReview = (review) =>
    retry(
      async () => {
        const response = await transport.json({
          method: 'POST',
          path: pathname + search,
          body: JSON.stringify(review),
        });
        if (!isJsonObject(response)) throw new InvalidResponseError('the response of the webhook is not a JSON object');
        return response;
      },
      { ...retries, retryable: isTransient },
      modules,
    );
  return { send, close: () => transport.close() };
}

class InvalidResponseError extends Error {}

const isTransient = (error: unknown): boolean =>
  isStatusError(error) ? error.code === 429 || error.code >= 500 : !(error instanceof InvalidResponseError);
