import { getOwn, isJsonObject, setOwn, type Json, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { SendReview } from '../../webhooks/operator-webhook.ts';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';

interface TokenReviewWebhookOptions {
  /** Of authentication.k8s.io. */
  readonly version: 'v1' | 'v1beta1';
  /** What a webhook that says nothing of audiences vouches for. */
  readonly implicitAudiences: readonly string[];
}

/** Asks a webhook whose a token is (K7.2; `--authentication-token-webhook-config-file`). */
export class TokenReviewWebhook implements TokenAuthenticator {
  readonly #options: TokenReviewWebhookOptions;
  readonly #send: SendReview;
  constructor(options: TokenReviewWebhookOptions, modules: { readonly send: SendReview }) {
    this.#options = options;
    this.#send = modules.send;
  }

  /** Undefined for a token that the webhook does not know; throws when it says why, or cannot be asked. */
  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const review = await this.#send({
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
    const vouched = textsIn(status, 'audiences');
    const accepted = audiences.filter((audience) =>
      (vouched.length === 0 ? this.#options.implicitAudiences : vouched).includes(audience),
    );
    if (accepted.length === 0 && audiences.length > 0) return undefined;
    return { user: userOf(objectIn(status, 'user')), audiences: accepted };
  }
}

function userOf(user: JsonObject): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  const given = objectIn(user, 'extra');
  for (const key of Object.keys(given)) setOwn(extra as unknown as JsonObject, key.toLowerCase(), textsIn(given, key));
  return { name: textIn(user, 'username'), uid: textIn(user, 'uid'), groups: textsIn(user, 'groups'), extra };
}

const textIn = (object: JsonObject, name: string): string => {
  const value = getOwn(object, name);
  return typeof value === 'string' ? value : '';
};
const textsIn = (object: JsonObject, name: string): string[] => {
  const value: Json | undefined = getOwn(object, name);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
};
const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = getOwn(object, name);
  return isJsonObject(value) ? value : {};
};
