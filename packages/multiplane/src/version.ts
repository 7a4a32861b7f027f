/** Version of this program. `/version` reports it after the Kubernetes version: `v1.36.0+multiplane-<version>`. */
export const version = '0.1.0';
