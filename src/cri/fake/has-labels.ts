type Labels = Readonly<Record<string, string>>;

/** Whether `labels` has all of `wanted`; nothing wanted, nothing missed. */
export function hasLabels(labels: Labels, wanted: Labels | undefined): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
}
