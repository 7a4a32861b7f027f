import type { Json } from '@multiplane/apimachinery';
import type { ConfigurationSchema } from '@multiplane/component-base';

/** The file of `--authentication-config`. Its `jwt` entries have the form of those of a WorkspaceAuthenticationConfiguration. */
export interface AuthenticationConfigurationDocument {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly jwt?: readonly Json[];
  readonly anonymous?: {
    readonly enabled?: boolean;
    readonly conditions?: readonly { readonly path?: string }[];
  };
}

const string = { type: 'string' };
const strictObject = (properties: ConfigurationSchema): ConfigurationSchema => ({
  type: 'object',
  additionalProperties: false,
  properties,
});
const listOf = (items: ConfigurationSchema): ConfigurationSchema => ({ type: 'array', items });

const issuer = strictObject({
  url: string,
  discoveryURL: string,
  certificateAuthority: string,
  audiences: listOf(string),
  audienceMatchPolicy: string,
  egressSelectorType: string,
});

const claimMappings = strictObject({
  username: strictObject({ claim: string, prefix: string, expression: string }),
  groups: strictObject({ claim: string, prefix: string, expression: string }),
  uid: strictObject({ claim: string, expression: string }),
  extra: listOf(strictObject({ key: string, valueExpression: string })),
});

/**
 * Structure of AuthenticationConfiguration. Strict, as kube-apiserver decodes it: an ignored typo in a validation rule would
 * accept tokens that it should refuse. Required values and relations between fields have Kubernetes' own error texts and are
 * checked by `validateJwt`.
 */
export const authenticationConfigurationSchema: ConfigurationSchema = strictObject({
  apiVersion: string,
  kind: string,
  jwt: listOf(
    strictObject({
      issuer,
      claimValidationRules: listOf(
        strictObject({ claim: string, requiredValue: string, expression: string, message: string }),
      ),
      claimMappings,
      userValidationRules: listOf(strictObject({ expression: string, message: string })),
    }),
  ),
  anonymous: strictObject({ enabled: { type: 'boolean' }, conditions: listOf(strictObject({ path: string })) }),
});
