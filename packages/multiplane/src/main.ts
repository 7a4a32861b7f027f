import { runProgram } from './run-program.ts';

await runProgram('multiplane', () => import('./programs/multiplane.ts'));
