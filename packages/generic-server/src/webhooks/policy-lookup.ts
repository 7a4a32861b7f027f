import { lookup as lookupName } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import type { AddressPolicy } from './address-policy.ts';

/** An address in the format of `dns.lookup`. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all its addresses. */
export type ResolveName = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** A name has no address that the policy allows. */
export class DeniedAddressError extends Error {
  override readonly name = 'DeniedAddressError';
}

const systemResolve: ResolveName = (hostname) => lookupName(hostname, { all: true });

/**
 * The `lookup` of new connections to names that tenants choose: returns the addresses that the policy allows, and fails with
 * {@link DeniedAddressError} if there is none. Node does not call it for literal addresses, which the caller checks itself.
 */
export function policyLookup(modules: {
  readonly policy: AddressPolicy;
  readonly resolve?: ResolveName | undefined;
}): LookupFunction {
  const { policy, resolve = systemResolve } = modules;
  return (hostname, options, callback) => {
    /* eslint-disable promise/no-callback-in-promise -- Node's sockets expect a callback */
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => policy.allows(address));
        const [first] = allowed;
        if (first === undefined) callback(new DeniedAddressError(hostname), '', 0);
        else if (options.all === true) callback(null, [...allowed]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
    /* eslint-enable promise/no-callback-in-promise */
  };
}
