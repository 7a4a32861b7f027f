import { statusErrors } from '@multiplane/apimachinery';
import type { Filter } from '../request-context.ts';
import { writeStatusError } from '../responses.ts';
import type { Starting } from '../starting.ts';
import { isProbe } from './draining.ts';

/** Asks for another try later while the server has nothing to answer from, except those that ask how it is. */
export function withStarting(starting: Starting): Filter {
  return (next) => (context) => {
    if (starting.over || isProbe(context.info.path)) return next(context);
    writeStatusError(context, statusErrors.serviceUnavailable('the server is starting', 1));
    return Promise.resolve();
  };
}
