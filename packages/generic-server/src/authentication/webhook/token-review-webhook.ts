import { getOwn } from '@multiplane/apimachinery';
import type { SendReview } from '../../webhooks/operator-webhook.ts';
import { ReviewUnavailableError } from '../../webhooks/review-unavailable-error.ts';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';
import { objectIn, reviewedUser, textIn, textsIn } from './reviewed-user.ts';

interface TokenReviewWebhookOptions {
  /** API version in the group authentication.k8s.io. */
  readonly version: 'v1' | 'v1beta1';
  /** Audiences of a token if the webhook does not report any. */
  readonly implicitAudiences: readonly string[];
}

/** Authenticates tokens with the webhook of `--authentication-token-webhook-config-file`. */
export class TokenReviewWebhook implements TokenAuthenticator {
  readonly #options: TokenReviewWebhookOptions;
  readonly #send: SendReview;
  constructor(options: TokenReviewWebhookOptions, modules: { readonly send: SendReview }) {
    this.#options = options;
    this.#send = modules.send;
  }

  /** Returns undefined for a token that the webhook does not know; throws if it reports an error or cannot be called. */
  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const review = await sendOrThrow(this.#send, {
      kind: 'TokenReview',
      apiVersion: `authentication.k8s.io/${this.#options.version}`,
      metadata: { creationTimestamp: null },
      spec: { token, ...(audiences.length === 0 ? {} : { audiences: [...audiences] }) },
      status: { user: {} },
    });
    const status = objectIn(review, 'status');
    if (getOwn(status, 'authenticated') !== true) {
      const error = textIn(status, 'error');
      if (error !== '') throw new Error(error);
      return undefined;
    }
    const reported = textsIn(status, 'audiences');
    const accepted = audiences.filter((audience) =>
      (reported.length === 0 ? this.#options.implicitAudiences : reported).includes(audience),
    );
    if (accepted.length === 0 && audiences.length > 0) return undefined;
    return { user: reviewedUser(status, (key) => key.toLowerCase()), audiences: accepted };
  }
}

async function sendOrThrow(send: SendReview, review: Parameters<SendReview>[0]): ReturnType<SendReview> {
  try {
    return await send(review);
  } catch (cause) {
    throw new ReviewUnavailableError((cause as Error).message, { cause });
  }
}
