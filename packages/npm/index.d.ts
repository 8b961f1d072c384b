type Variables = Record<string, string | undefined>;

/** Path of the driver's manifest. */
export const icd: string;

/** Arguments with which Chromium draws WebGL by Vulkan and permits WebGPU on a CPU. */
export const args: readonly string[];

/** Returns variables (by default those of the process) with those that select the driver. */
export function environment(base?: Variables): Record<string, string>;

/** Returns options of `launch` with the variables and arguments of the driver. */
export function launchOptions<T extends { args?: string[]; env?: Variables }>(
  options?: T,
): T & { args: string[]; env: Record<string, string> };
