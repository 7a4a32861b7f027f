/** Writes the project of a provider. */
export { createProject } from './create-project.ts';
