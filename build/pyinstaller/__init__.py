"""What PyInstaller is told: the spec, what goes into the bundle, and the module that runs first."""
