import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** A named value of an environment, such as a type name. */
export interface Constant {
  readonly type: CelType;
  readonly value: CelValue;
}
