import type { Step } from '../events/timeline.ts';

type StepPhrases = (subject: string) => readonly [activity: string, noun: string];

/** Each step of a timeline as an activity and as a noun. */
const PHRASES: Readonly<Record<Step['name'], StepPhrases>> = {
  preemption: () => ['waiting for the end of pods that it preempts', 'the preemption of other pods'],
  directories: () => ['making its folders', 'making its folders'],
  cgroup: () => ['making its control groups', 'making its control groups'],
  volumes: () => ['preparing its volumes', 'preparing its volumes'],
  'log links': () => ['linking its logs', 'linking its logs'],
  'resource claims': () => ['preparing its resource claims', 'preparing its resource claims'],
  sandbox: () => ['creating its sandbox', 'the creation of its sandbox'],
  image: (image) => [`getting image "${image}"`, `getting image "${image}"`],
  'create container': (name) => [`creating container ${name}`, `the creation of container ${name}`],
  'start container': (name) => [`starting container ${name}`, `the start of container ${name}`],
  'postStart hook': (name) => [
    `waiting for the postStart hook of container ${name}`,
    `the postStart hook of container ${name}`,
  ],
  'preStop hook': (name) => [
    `waiting for the preStop hook of container ${name}`,
    `the preStop hook of container ${name}`,
  ],
  'stop container': (name) => [`stopping container ${name}`, `stopping container ${name}`],
  'stop sandbox': () => ['stopping its sandbox', 'stopping its sandbox'],
  remove: () => ['removing its dead containers', 'removing its dead containers'],
};

/** `creating its sandbox`; completes `it is …`. */
export function stepActivity(step: Step): string {
  return phrasesOf(step)[0];
}

/** `the creation of its sandbox`; completes `… failed`. */
export function stepNoun(step: Step): string {
  return phrasesOf(step)[1];
}

function phrasesOf({ name, subject = '' }: Step): readonly [activity: string, noun: string] {
  return PHRASES[name](subject);
}
