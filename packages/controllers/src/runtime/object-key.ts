export { keyOf, referenceOf } from '@multiplane/client';
