import { encodeYaml } from '@multiplane/apimachinery';
import type { Session } from './session-store.ts';

export interface KubeconfigOptions {
  /** The path or name of a logical cluster. */
  readonly cluster: string;
  /** `https://<host>:<port>` of the API, as clients reach it. */
  readonly server: string;
  /** PEM; absent: clients use the CAs of their system. */
  readonly ca?: string | undefined;
}

export interface KubeconfigIssuer {
  readonly issuerUrl: string;
  readonly clientId: string;
}

/** A kubeconfig of a workspace for the user of a session. It contains no secret: what it needs to log in is named in comments. */
export function userKubeconfig(options: KubeconfigOptions, session: Session, issuer?: KubeconfigIssuer): string {
  const { cluster, server, ca } = options;
  const name = cluster.replaceAll(':', '-');
  const { user, comment } = credentialOf(session, issuer);
  const config = encodeYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: `${server}/clusters/${cluster}`,
          ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: 'console' } }],
    'current-context': name,
    users: [{ name: 'console', user }],
  });
  return `${comment.map((line) => `# ${line}\n`).join('')}${config}`;
}

type User = Record<string, string | { readonly [field: string]: string | readonly string[] }>;

function credentialOf(
  { kind }: Session,
  issuer: KubeconfigIssuer | undefined,
): { readonly user: User; readonly comment: readonly string[] } {
  if (kind === 'oidc' && issuer !== undefined)
    return {
      user: {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'kubectl',
          args: [
            'oidc-login',
            'get-token',
            `--oidc-issuer-url=${issuer.issuerUrl}`,
            `--oidc-client-id=${issuer.clientId}`,
          ],
          interactiveMode: 'IfAvailable',
          installHint: 'kubectl krew install oidc-login',
        },
      },
      comment: ['kubectl logs in at the issuer with the plugin oidc-login.'],
    };
  if (kind === 'link')
    return {
      user: {},
      comment: [
        'You logged in by a one-time link, whose credential stays in the console. Use the kubeconfig of the administrator',
        'who made the link, or add a credential of your own to the user "console".',
      ],
    };
  return {
    user: {},
    comment: [
      'The console does not give tokens away. Add the token that you logged in with:',
      '  kubectl config set-credentials console --token=<token>',
    ],
  };
}
