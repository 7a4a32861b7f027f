import { authorizerLibrary } from './authorizer-library.ts';
import { functionTable } from './function-declaration.ts';
import { listsLibrary } from './lists-library.ts';
import { nameFormatLibrary } from './name-format-library.ts';
import { networkLibrary } from './network-library.ts';
import { comprehensionLibrary, optionalLibrary } from './optional-library.ts';
import { quantityLibrary } from './quantity-library.ts';
import { regexLibrary } from './regex-library.ts';
import { semverLibrary } from './semver-library.ts';
import { standardLibrary } from './standard-library.ts';
import { stringsLibrary } from './strings-library.ts';
import { urlLibrary } from './url-library.ts';
import { CelEnvironment } from './environment.ts';
import type { CelType } from './types.ts';

/** The functions that Kubernetes 1.36 lets expressions use. */
export const kubernetesFunctions = functionTable(
  standardLibrary,
  optionalLibrary,
  comprehensionLibrary,
  stringsLibrary,
  listsLibrary,
  regexLibrary,
  urlLibrary,
  networkLibrary,
  quantityLibrary,
  semverLibrary,
  nameFormatLibrary,
  authorizerLibrary,
);

/** An environment of Kubernetes with these variables. */
export const kubernetesEnvironment = (variables: Readonly<Record<string, CelType>>): CelEnvironment =>
  new CelEnvironment({ functions: kubernetesFunctions, variables });
