import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';

export const certificateSigningRequests: GroupVersionResource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
};

export interface CsrCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
}

export type CertificateSigningRequest = KubeObject & {
  spec?: {
    /** Base64 of PEM. */
    request?: string;
    signerName?: string;
    usages?: string[];
    expirationSeconds?: number | bigint;
  };
  status?: {
    conditions?: CsrCondition[];
    /** Base64 of PEM. */
    certificate?: string;
  };
};
