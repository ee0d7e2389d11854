"""The ordinary start, in place of PyInstaller's own bootstrap script.

The same but for what nothing here needs: it imports ctypes to make libraries be looked for inside the bundle
by bare name (a third of a short run; the one library loaded through ctypes is named by its full path), lists
the bundle for eggs, and removes VIRTUAL_ENV from the environment, which is the user's and not ours to change
for the programs that we start.
"""

import sys

import ways_fastboot

ways_fastboot.set_up_the_rest()
if sys.warnoptions:
    import warnings  # noqa: F401 - as the interpreter does when warnings are asked for
