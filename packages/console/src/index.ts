export { basePath } from './server/base-path.ts';
