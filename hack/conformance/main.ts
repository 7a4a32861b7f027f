import { parseArgs } from 'node:util';
import { mapConcurrently } from '../../packages/apimachinery/src/index.ts';
import { comparedServers, serverFlags, serverUsage } from './compared-servers.ts';
import { classOf } from './difference-class.ts';
import { DeliberateDifferences } from './deliberate-differences.ts';
import { SetUpFailed } from './meeting.ts';
import { playOnBoth, unstableSteps, type Servers } from './play-on-both.ts';
import { Random } from './random.ts';
import { Recording } from './record.ts';
import { printed, Report, type Example } from './report.ts';
import { shrink } from './shrink.ts';
import { scenarioOf, type Topic } from './topic.ts';
import { topics } from './topics/all.ts';

const usage = `Plays generated scenarios on two servers and reports what they answer differently.

Usage: hack/conformance/run [compare | record] [flags]

${serverUsage}
  --seed N | N-M       seeds (1)
  --steps N            steps of each topic and seed (200)
  --topic NAME         only this topic; may be repeated: ${topics.map(({ name }) => name).join(', ')}
  --kcp                the topics of kcp's API instead of those of Kubernetes; the reference is a kcp
  --scenario NAME      only this scenario, as a report names it: <topic>/<seed>/<number>
  --once               do not play what differs on the reference again: unstable answers count as differences
  --minutes N          start no further scenario after so many minutes
  --parallel N         scenarios at the same time (4)
  --classes N          classes of differences to print, the most frequent first (20)
  --verbose            print the differences of each scenario as soon as it was played
  --excuses            print what each entry of e2e/conformance/excused-differences.yaml matched
  --shrink N           plays to find the smallest scenario of a printed class (60; 0: print it as generated)
  --out FOLDER         record: writes scenarios that both servers answer alike, with the answers, as <topic>.jsonl
  --most N             record: at most so many scenarios a topic (60)

A tokens file is {"admin": <token of a user in system:masters>, "user-1": …, "user-2": …}; the users have no rights, but
access to the workspace. With --kcp, URLs have no prefix, admin is in system:kcp:admin, and masters in system:masters. The exit status is 0 when nothing differs but what e2e/conformance/excused-differences.yaml excuses.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    ...serverFlags,
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '200' },
    topic: { type: 'string', multiple: true },
    kcp: { type: 'boolean', default: false },
    scenario: { type: 'string' },
    once: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '1000' },
    parallel: { type: 'string', default: '4' },
    classes: { type: 'string', default: '20' },
    excuses: { type: 'boolean', default: false },
    shrink: { type: 'string', default: '60' },
    out: { type: 'string' },
    most: { type: 'string', default: '60' },
  },
});

function* scenarioNames(): Generator<{ topic: Topic; seed: number }> {
  const [first = 1, last = first] = values.seed.split('-').map(Number);
  const chosen = topics.filter(({ name, isKcp = false }) => values.topic?.includes(name) ?? isKcp === values.kcp);
  for (let seed = first; seed <= last; seed++) for (const topic of chosen) yield { topic, seed };
}

const generated = (topic: Topic, seed: number, index: number) => {
  const name = `${topic.name}/${seed}/${index}`;
  return scenarioOf(topic, name, new Random(name));
};

/** The scenarios of one topic and seed: as many as have the wanted number of steps. */
function scenariosOf(topic: Topic, seed: number) {
  const scenarios = [];
  for (let steps = 0, index = 0; steps < Number(values.steps); index++) {
    const scenario = generated(topic, seed, index);
    steps += scenario.steps.length;
    scenarios.push(scenario);
  }
  return scenarios;
}

function chosenScenarios() {
  if (values.scenario === undefined) return [...scenarioNames()].flatMap(({ topic, seed }) => scenariosOf(topic, seed));
  const [topicName, seed, index] = values.scenario.split('/');
  const topic = topics.find(({ name }) => name === topicName);
  if (topic === undefined) throw new Error(`no topic is called ${topicName}; see --help`);
  return [generated(topic, Number(seed), Number(index))];
}

async function smallest(example: Example, servers: Servers, deliberate: DeliberateDifferences): Promise<Example> {
  const wanted = classOf(example.first);
  let latest = example;
  const budget = Number(values.shrink);
  if (budget === 0) return example;
  await shrink(
    example.scenario,
    async (candidate) => {
      const { different } = await playOnBoth(candidate, servers, deliberate);
      const first = different.find((each) => classOf(each) === wanted);
      if (first !== undefined) latest = { scenario: candidate, first };
      return first !== undefined;
    },
    budget,
  );
  return latest;
}

const recordedPlays = 2;
const differentPlays = 6;

async function main(): Promise<number> {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const isRecording = positionals[0] === 'record';
  const servers: Servers = comparedServers(values);
  const deliberate = new DeliberateDifferences();
  const report = new Report();
  const recording = new Recording(Number(values.most));
  const deadline = Date.now() + Number(values.minutes) * 60_000;
  await mapConcurrently(chosenScenarios(), Number(values.parallel), async (scenario) => {
    if (Date.now() > deadline || (isRecording && recording.isFull(scenario.topic))) return;
    const comparison = await playOnBoth(scenario, servers, deliberate).catch((error: unknown) => {
      if (!(error instanceof SetUpFailed)) throw error;
      report.leaveOut(scenario);
      if (values.verbose) console.log(`${scenario.name} is left out: ${error.message}`);
      return undefined;
    });
    if (comparison === undefined) return;
    // More looks cost more plays, so only what differs or is recorded gets them.
    const isClean = comparison.different.length === 0;
    const doubtful = new Set(comparison.different.map(({ step }) => step));
    const most = isClean ? recordedPlays : differentPlays;
    const unstable =
      values.once || (isClean && !isRecording)
        ? new Set<number>()
        : await unstableSteps(scenario, servers, comparison.reference, { doubtful, most });
    report.add(scenario, comparison, unstable);
    if (values.verbose)
      for (const first of comparison.different)
        console.log(`${unstable.has(first.step) ? 'unstable ' : ''}${classOf(first)}\n${printed({ scenario, first })}`);
    if (isRecording && isClean && comparison.excused === 0 && unstable.size === 0)
      recording.add(scenario, comparison.reference);
  });
  if (isRecording) {
    recording.write(values.out ?? `e2e/conformance/recorded${values.kcp ? '-kcp' : ''}`);
    console.log(`${recording.count} scenarios recorded`);
  }
  console.log(report.figures());
  if (values.excuses) console.log(`\n${report.excuses(deliberate.reasons)}`);
  for (const { name, count, example } of report.classes().slice(0, Number(values.classes))) {
    console.log(`\n${count}× ${name}`);
    console.log(printed(await smallest(example, servers, deliberate)));
  }
  servers.reference.close();
  servers.subject.close();
  return report.differences > 0 && !isRecording ? 1 : 0;
}

process.exitCode = await main();
