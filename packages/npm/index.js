'use strict';
// Grus, a Vulkan driver that runs on the CPU, for browsers that draw WebGL and WebGPU by Vulkan.

const path = require('node:path');

const FEATURES = '--enable-features=';

/** Path of the driver's manifest. */
const icd = path.join(__dirname, 'grus_icd.json');

/** Arguments with which Chromium draws WebGL by Vulkan and permits WebGPU on a CPU. */
const args = ['--use-angle=vulkan', `${FEATURES}Vulkan`, '--enable-unsafe-webgpu'];

/** Returns variables with those that select the driver, for `child_process` and `launch`. */
function environment(base = process.env) {
  return { ...base, VK_DRIVER_FILES: icd, VK_ICD_FILENAMES: icd };
}

/**
 * Returns options of `launch` (Puppeteer, Playwright) with the variables and arguments of the
 * driver. Lists of features are joined, because Chromium reads only the last one.
 */
function launchOptions(options = {}) {
  const all = [...args, ...(options.args ?? [])];
  const isList = (argument) => argument.startsWith(FEATURES);
  const features = all.filter(isList).map((argument) => argument.slice(FEATURES.length));
  const others = all.filter((argument) => !isList(argument));
  return { ...options, env: environment(options.env), args: [...others, FEATURES + features.join(',')] };
}

module.exports = { args, environment, icd, launchOptions };
