import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseYaml } from '@multiplane/apimachinery';
import { ConfigurationDocument, ConfigurationError, type ConfigurationSchema } from '@multiplane/component-base';

/** An OpenID Connect issuer whose users log in with a button. */
export interface OidcIssuer {
  /** In the URL of its callback. */
  readonly id: string;
  readonly displayName: string;
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** PEM; absent: the CAs of the system. */
  readonly ca: string | undefined;
}

interface Document {
  readonly issuers?: readonly {
    readonly id: string;
    readonly displayName?: string;
    readonly issuerURL: string;
    readonly clientID: string;
    readonly clientSecretFile?: string;
    readonly scopes?: readonly string[];
    readonly certificateAuthorityFile?: string;
  }[];
}

const text = { type: 'string', minLength: 1, description: 'a text' };
const schema: ConfigurationSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['apiVersion', 'kind'],
  properties: {
    apiVersion: { const: 'console.multiplane.io/v1alpha1' },
    kind: { const: 'ConsoleConfiguration' },
    issuers: {
      type: 'array',
      maxItems: 32,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['id', 'issuerURL', 'clientID'],
        properties: {
          id: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$', description: 'a DNS label' },
          displayName: text,
          issuerURL: { type: 'string', pattern: '^https://', description: 'an https URL' },
          clientID: text,
          clientSecretFile: text,
          scopes: { type: 'array', items: text, minItems: 1 },
          certificateAuthorityFile: text,
        },
      },
    },
  },
};

const document = new ConfigurationDocument<Document>({ schema }, { decode: parseYaml });

/** The issuers of `--console-config-file`; relative files are resolved against its folder. Throws ConfigurationError. */
export function readConsoleConfiguration(file: string): readonly OidcIssuer[] {
  const { issuers = [] } = document.parse(readFileSync(file, 'utf8'), file);
  const read = (name: string | undefined): string | undefined => {
    if (name === undefined) return undefined;
    try {
      return readFileSync(resolve(dirname(file), name), 'utf8').trim();
    } catch (cause) {
      throw new ConfigurationError(file, [(cause as Error).message], { cause });
    }
  };
  const ids = issuers.map(({ id }) => id);
  const duplicate = ids.find((id, index) => ids.indexOf(id) !== index);
  if (duplicate !== undefined) throw new ConfigurationError(file, [`issuers: Duplicate value: "${duplicate}"`]);
  return issuers.map((issuer) => ({
    id: issuer.id,
    displayName: issuer.displayName ?? issuer.id,
    issuerUrl: issuer.issuerURL,
    clientId: issuer.clientID,
    clientSecret: read(issuer.clientSecretFile),
    scopes: [...new Set(['openid', ...(issuer.scopes ?? ['profile', 'email', 'offline_access'])])],
    ca: read(issuer.certificateAuthorityFile),
  }));
}
