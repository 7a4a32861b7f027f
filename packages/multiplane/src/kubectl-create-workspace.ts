import { runProgram } from './run-program.ts';

await runProgram('kubectl-create-workspace', () => import('./programs/kubectl-create-workspace.ts'));
