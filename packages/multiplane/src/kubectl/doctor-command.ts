import { Command } from 'commander';
import { doctor } from '../kubectl-kcp/doctor/doctor.ts';
import { findingText, problem, type Finding } from '../kubectl-kcp/doctor/finding.ts';
import { failureText } from './failure-text.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';

/** `kubectl kcp doctor`. */
export function doctorCommand(): Command {
  const command = addWorkspaceFlag(addCommonFlags(new Command('doctor')))
    .description('check kubeconfig, certificates, server, access and APIs of the workspace, and say what to do')
    .addHelpText('after', '\nExit status: 0 if there is no error, else 1.');
  return command.action(async () => {
    let errors = 0;
    const report = (finding: Finding): void => {
      if (finding.level === 'error') errors++;
      process.stdout.write(`${findingText(finding)}\n`);
    };
    let isConfigured = false;
    try {
      await withServer(command, async (modules) => {
        isConfigured = true;
        for await (const finding of doctor({ ...modules, now: () => Date.now() })) report(finding);
      });
    } catch (error) {
      if (isConfigured) throw error;
      const remedy =
        'check KUBECONFIG and kubectl config get-contexts; the first kubeconfig comes from the administrator';
      report(problem('kubeconfig', failureText(error), remedy));
    }
    if (errors > 0) throw new Error(`the doctor found ${errors} error${errors === 1 ? '' : 's'}`);
  });
}
